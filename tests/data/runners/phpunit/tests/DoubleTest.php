<?php

require_once __DIR__ . '/../double.php';

final class DoubleTest extends PHPUnit\Framework\TestCase
{
    /** @dataProvider numbers */
    public function testTurns(int $n): void
    {
        $this->assertSame(2 * $n, double($n));
    }

    public function numbers(): array
    {
        return ['two' => [2], 'zero' => [0]];
    }
}
