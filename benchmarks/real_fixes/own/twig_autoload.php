<?php
// Stands in for the autoloader that Composer would make: the two namespaces of the package and its tests, and
// the libraries that Debian keeps below /usr/share/php.

spl_autoload_register(static function (string $class): void {
    foreach (['Twig\\Tests\\' => '/tests/', 'Twig\\' => '/src/'] as $namespace => $folder) {
        if (strncmp($class, $namespace, strlen($namespace)) === 0) {
            $path = str_replace('\\', '/', substr($class, strlen($namespace)));
            $file = dirname(__DIR__) . $folder . $path . '.php';
            if (is_file($file)) {
                require $file;
            }
            return;
        }
    }
});

require '/usr/share/php/Symfony/Bridge/PhpUnit/autoload.php';
