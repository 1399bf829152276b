module.exports = (n) => n + 0;
