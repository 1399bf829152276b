<?php

spl_autoload_register(function ($class) {
    $file = __DIR__ . '/src/' . ucfirst(substr($class, strlen('Till\\'))) . '.php';
    if (strncmp($class, 'Till\\', 5) === 0 && is_file($file)) {
        require $file;
    }
});
