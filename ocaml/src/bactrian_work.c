/* Gauges, histograms and spans: the Rust library implements them, in memory of its own. */

#include "bactrian_runtime.h"

typedef void *declare(const struct bactrian_name *name, uint32_t *id);

static value made(declare *declare_it, value name, value labels, value unit)
{
    CAMLparam2(name, labels);
    CAMLlocal1(pair);
    struct bactrian_name description;
    struct bactrian_text parts[MOST_PARTS];
    void *cell = NULL;
    uint32_t id = 0;

    if (!bactrian_is_child) {
        bactrian_describe(&description, parts, name, labels, Int_val(unit), 0);
        cell = declare_it(&description, &id);
    }
    pair = caml_alloc_small(2, 0);
    Field(pair, 0) = Val_address(cell);
    Field(pair, 1) = Val_long(id);
    CAMLreturn(pair);
}

value bactrian_gauge(value name, value labels, value unit)
{
    return made(bactrian_observe_gauge, name, labels, unit);
}

value bactrian_histogram(value name, value labels, value unit)
{
    return made(bactrian_observe_histogram, name, labels, unit);
}

value bactrian_span(value name, value labels)
{
    return made(bactrian_observe_span, name, labels, Val_int(2));
}

value bactrian_gauge_set_unboxed(value gauge, double number)
{
    if (Address_val(gauge) != NULL)
        bactrian_observe_gauge_set(Address_val(gauge), number);
    return Val_unit;
}

value bactrian_gauge_set(value gauge, value number)
{
    return bactrian_gauge_set_unboxed(gauge, Double_val(number));
}

value bactrian_gauge_add_unboxed(value gauge, double number)
{
    if (Address_val(gauge) != NULL)
        bactrian_observe_gauge_add(Address_val(gauge), number);
    return Val_unit;
}

value bactrian_gauge_add(value gauge, value number)
{
    return bactrian_gauge_add_unboxed(gauge, Double_val(number));
}

double bactrian_gauge_get_unboxed(value gauge)
{
    return Address_val(gauge) == NULL ? 0.0 : bactrian_observe_gauge_get(Address_val(gauge));
}

value bactrian_gauge_get(value gauge)
{
    return caml_copy_double(bactrian_gauge_get_unboxed(gauge));
}

/* Negative numbers count as 0. */
value bactrian_histogram_record(value histogram, value number)
{
    if (Address_val(histogram) != NULL)
        bactrian_observe_histogram_record(Address_val(histogram), Long_val(number) < 0 ? 0 : Long_val(number));
    return Val_unit;
}

value bactrian_span_begin(value span)
{
    return Val_long(Address_val(span) == NULL ? 0 : bactrian_observe_span_begin(Address_val(span)));
}

value bactrian_span_end(value span, value begin)
{
    if (Address_val(span) != NULL)
        bactrian_observe_span_end(Address_val(span), Long_val(begin));
    return Val_unit;
}
