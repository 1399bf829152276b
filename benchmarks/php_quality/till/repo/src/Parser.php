<?php
namespace Till;

class Parser
{
    static function price($text)
    {
        if (!preg_match('/^(-?)(\d+)(?:\.(\d{2}))?$/',trim($text),$found)) {
            throw new \InvalidArgumentException("not a price: $text");
        }
        $cents = $found[2]*100 + (isset($found[3]) ? $found[3] : 0);
        return new money($found[1]==='-' ? -$cents : $cents);
    }

    static function receipt($text){
        $receipt = new Receipt();
        foreach (explode("\n", $text) as $row)
        {
            if (trim($row) === '') continue;
            $cells = explode(';', $row);
            if(count($cells)<2) throw new \InvalidArgumentException("a row needs a name and a price: $row");
            $receipt->add(trim($cells[0]), self::price($cells[1]), isset($cells[2]) ? (int)$cells[2] : 1);
        }
        return $receipt;
    }
}
