<?php
// Before PHPUnit starts: asks it for a JUnit report at a path that only this run knows, and takes that path
// out of the environment. Silent in every other script. Understands PHPUnit 8 to 12 and PHP 7.2 or newer.
//
// PHPUnit runs the candidate's code in its own process, so what the report proves ends where that code wants
// to deceive the process it runs in. It stops reports planted beforehand and runs that end early.

(static function (): void {
    $path = getenv('PROCTOR_PHPUNIT_REPORT');
    $script = basename($_SERVER['argv'][0] ?? '');
    if ($path === false || !preg_match('/^phpunit(?:-[\d.]+)?(?:\.phar)?$/', $script)) {
        return;
    }
    putenv('PROCTOR_PHPUNIT_REPORT');
    unset($_ENV['PROCTOR_PHPUNIT_REPORT'], $_SERVER['PROCTOR_PHPUNIT_REPORT']);
    @mkdir(dirname($path), 0700, true);
    // One command may run PHPUnit several times; each run takes the next free name and none is overwritten.
    for ($number = 1; ($file = @fopen("$path.$number", 'x')) === false; $number++) {
        if ($number >= 9) {
            return;
        }
    }
    fclose($file);
    array_splice($_SERVER['argv'], 1, 0, ['--log-junit', "$path.$number"]);
    $_SERVER['argc'] = count($_SERVER['argv']);
})();
