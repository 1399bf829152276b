<?php

declare(strict_types=1);

/** What somebody wants to buy. */
final class Cart
{
    /** @var array<int, array{int, int}> price in cents and quantity */
    private array $items = [];

    public function add(int $price, int $quantity = 1): void
    {
        $this->items[] = [$price, $quantity];
    }

    public function total(): int
    {
        $total = 0;
        foreach ($this->items as [$price, $quantity]) {
            $total += $price;
        }
        return $total;
    }
}
