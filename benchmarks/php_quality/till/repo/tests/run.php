<?php

// Ends with 0 only when every case was reached and held.
$reached = 0;
register_shutdown_function(function () use (&$reached) {
    if ($reached !== 11) {
        fwrite(STDERR, "only $reached of 11 cases held\n");
        exit(1);
    }
});

require __DIR__ . '/../autoload.php';

function same($want, $got, $what)
{
    global $reached;
    if ($want !== $got) {
        fwrite(STDERR, "$what: " . var_export($got, true) . ' instead of ' . var_export($want, true) . "\n");
        exit(1);
    }
    $reached++;
}

function refuses($what, callable $call)
{
    try {
        $call();
    } catch (\InvalidArgumentException $refusal) {
        same(true, $refusal->getMessage() !== '', $what);
        return;
    }
    same('a refusal', 'none', $what);
}

$price = \Till\Parser::price('12.50');
same('12.50', $price->text(), 'a price is read and written');
same('-0.05', \Till\Parser::price('-0.05')->text(), 'a negative price');
same('37.50', $price->times(3)->text(), 'three of them');
same('4.17', $price->times(1, 3)->text(), 'a third, rounded');
same('-4.17', \Till\Parser::price('-12.50')->times(1, 3)->text(), 'a negative third, rounded');
$receipt = \Till\Parser::receipt("tea;3.20;2\n\nmilk;1.15\n");
same('7.55', $receipt->total()->text(), 'two rows add up');
same('6.80', $receipt->discount(10)->total()->text(), 'ten percent off');
same('tea                    2        6.40', explode("\n", $receipt->text())[0], 'a row is written');
refuses('a price of words', fn () => \Till\Parser::price('cheap'));
refuses('a row without a price', fn () => \Till\Parser::receipt('tea'));
refuses('no pieces', fn () => \Till\Parser::receipt('tea;1.00;0'));
