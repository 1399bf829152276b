<?php

register_shutdown_function(static function () {
    $GLOBALS['done'] ?? exit(1);
});
require __DIR__ . '/../src/Price.php';
require __DIR__ . '/../src/Tax.php';

$right = (new Price(-5))->cents() === 0 && (new Price(40))->twice() === 80 && (new Tax())->of(new Price(200)) === 38;
$GLOBALS['done'] = true;
exit($right ? 0 : 1);
