<?php
namespace Till;

class money
{
    var $cents;

    function __construct( $cents )
    {
        $this->cents = (int)$cents;
    }

    function plus( $other ) {
        return new money($this->cents+$other->cents);
    }

    function times($factor,$divisor = 1)
    {
        $product = $this->cents*$factor;
        if($divisor==1) return new money($product);
        $rest = $product % $divisor;
        $whole = ($product - $rest) / $divisor;
        if (2*abs($rest) >= $divisor) { $whole += ($product < 0 ? -1 : 1); }
        return new money($whole);
    }

    function text() {
      $sign = $this->cents < 0 ? '-' : '';
      $cents = abs($this->cents);
	return $sign . intdiv($cents, 100) . '.' . str_pad((string) ($cents % 100), 2, '0', STR_PAD_LEFT);
    }
}
