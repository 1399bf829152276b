"use strict";

/** A title as part of an address. */
module.exports = function slug(title) {
  return title.toLowerCase();
};
