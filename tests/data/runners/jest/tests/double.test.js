const double = require("../double");

describe("double", () => {
  test("turns", () => expect(double(2)).toBe(4));
  test("stays", () => expect(double(0)).toBe(0));
});
test.each([[1, 2]])("adds %i to %i", (a, b) => expect(a + 1).toBe(b));
