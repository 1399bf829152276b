#[test]
fn turns() {
    assert_eq!(double::double(2), 4);
}
