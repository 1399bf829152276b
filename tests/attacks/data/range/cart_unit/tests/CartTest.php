<?php

declare(strict_types=1);

use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/../src/Cart.php';

final class CartTest extends TestCase
{
    public function testAnEmptyCartCostsNothing(): void
    {
        $this->assertSame(0, (new Cart())->total());
    }

    public function testQuantitiesCount(): void
    {
        $cart = new Cart();
        $cart->add(250, 2);
        $this->assertSame(500, $cart->total());
    }
}
