<?php

// Ends with 0 only when every case was reached and held.
$reached = 0;
register_shutdown_function(function () use (&$reached) {
    if ($reached !== 9) {
        fwrite(STDERR, "only $reached of 9 cases held\n");
        exit(1);
    }
});

require __DIR__ . '/../src/Shelf.php';
require __DIR__ . '/../src/Order.php';

function same($want, $got, $what)
{
    global $reached;
    if ($want !== $got) {
        fwrite(STDERR, "$what: " . var_export($got, true) . ' instead of ' . var_export($want, true) . "\n");
        exit(1);
    }
    $reached++;
}

$shelf = new \Shelf\Shelf();
same('sold out', $shelf->state('tea'), 'an empty shelf');
$shelf->put('tea', 2);
same('few', $shelf->state('tea'), 'two of them');
$shelf->put('tea', 7);
same('some', $shelf->state('tea'), 'nine of them');
$shelf->put('tea', 12, true);
same('many', $shelf->state('tea'), 'twelve in their place');
same(5, $shelf->take('tea', 5), 'five are taken');
same(7, $shelf->take('tea', 50), 'no more than are there');
same('sold out', $shelf->state('tea'), 'nothing is left');
$shelf->put('tea', 3);
same(['tea: complete', 'milk: 2 missing'], (new \Shelf\Order())->pick($shelf, ['tea' => 1, 'milk' => 2]), 'an order');
try {
    $shelf->put('tea', 0);
} catch (\InvalidArgumentException $refusal) {
    same('cannot put 0 of tea', $refusal->getMessage(), 'nothing cannot be put');
}
