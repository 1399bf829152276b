<?php

// Exits 0 when every cart costs what it must.
require __DIR__ . '/../src/Cart.php';

$empty = new Cart();
$two = new Cart();
$two->add(250, 2);
$right = $empty->total() === 0 && $two->total() === 500;
echo $right ? "right\n" : "wrong\n";
exit($right ? 0 : 1);
