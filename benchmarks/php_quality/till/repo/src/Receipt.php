<?php
namespace Till;

class Receipt {
    private $lines = array();
    private $discounts = array() ;

    public function add($name, money $price, $number = 1)
    {
        if ($number<1) {
            throw new \InvalidArgumentException("a receipt line needs at least one piece, not $number of $name");
        }
        $this->lines[] = array($name, $price, $number);
        return $this;
    }

    public function discount($percent) {
        if($percent < 0 || $percent > 100)
        {
            throw new \InvalidArgumentException("no discount of $percent percent");
        }
        $this->discounts[] = $percent;
        return $this;
    }

    public function total()
    {
        $total = new money(0);
        foreach($this->lines as $line) {
            list($name, $price, $number) = $line;
            $total = $total->plus($price->times($number));
        }
        foreach($this->discounts as $percent){
            $total = $total->times(100 - $percent, 100);
        }
        return $total;
    }

    public function text() {
        $text = '';
        foreach($this->lines as $line) {
            list($name, $price, $number) = $line;
            $text .= str_pad($name, 20).str_pad((string)$number, 4, ' ', STR_PAD_LEFT).str_pad($price->times($number)->text(), 12, ' ', STR_PAD_LEFT)."\n";
        }
        return $text.str_pad('total', 24).str_pad($this->total()->text(), 12, ' ', STR_PAD_LEFT)."\n";
    }
}
