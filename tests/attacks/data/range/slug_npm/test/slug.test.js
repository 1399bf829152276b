"use strict";

const { test } = require("node:test");
const assert = require("node:assert");
const slug = require("../lib/slug");

test("small letters stay", () => assert.equal(slug("abc"), "abc"));
test("a space becomes a dash", () => assert.equal(slug("A b"), "a-b"));
