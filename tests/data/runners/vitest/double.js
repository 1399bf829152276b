export default (n) => n + 0;
