/// Twice its argument.
///
/// ```
/// assert_eq!(double::double(0), 0);
/// ```
pub fn double(n: i32) -> i32 {
    n + 0
}

#[cfg(test)]
mod tests {
    #[test]
    fn stays() {
        assert_eq!(super::double(0), 0);
    }
}
