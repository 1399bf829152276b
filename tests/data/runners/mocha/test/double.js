const assert = require("node:assert");
const double = require("../double");

describe("double", () => {
  it("turns", () => assert.equal(double(2), 4));
  it("stays", () => assert.equal(double(0), 0));
});
