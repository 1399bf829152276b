// In a process that runs tests of `node --test`, node's assert module cannot be changed any more: the code under
// test lives in the same process and could have every assertion hold. Nothing else is touched.

"use strict";

const process = require("node:process");

if (process.env.NODE_TEST_CONTEXT) {
  const assert = require("node:assert");
  Object.freeze(assert.strict);
  Object.freeze(assert);
}
