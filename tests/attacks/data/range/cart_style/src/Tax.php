<?php
class Tax {
    function of($price) {
        if($price->cents()==0){ return 0; }
        return intdiv($price->cents()*19,100);
    }
}
