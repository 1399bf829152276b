"use strict";

const { test } = require("node:test");
const assert = require("node:assert");
const slug = require("../lib/slug");

test("nothing stays nothing", () => assert.equal(slug(""), ""));
