<?php
class Price {
    private $cents;
    function __construct($cents) { $this->cents=$cents; }
    function cents() {
        if($this->cents<0){ return 0; }
        return $this->cents;
    }
    function twice() {
        return 2*$this->cents();
    }
}
