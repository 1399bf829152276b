<?php

namespace Shelf;

class Order
{
    public function pick(Shelf $shelf, array $wanted): array
    {
        $r = [];
        $total = 0;
        foreach ($wanted as $name => $n) {
            $got = $shelf->take($name, $n);
            $missing = $n - $got;
            if ($missing > 0) {
                $r[] = "$name: $missing missing";
            } else {
                $r[] = "$name: complete";
            }
        }
        return $r;
    }
}
