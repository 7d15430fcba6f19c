import type { Coding } from './accept-encoding.ts';
import { codecs } from './codecs.ts';

/** Released with the body, when its configuration changes. */
const made = new WeakMap<Buffer, Map<Coding, Buffer>>();

/** A body that is the same for every request is compressed once per coding. */
export function fixedBodyIn(body: Buffer, coding: Coding): Buffer {
  let forms = made.get(body);
  if (forms === undefined) {
    forms = new Map();
    made.set(body, forms);
  }
  let form = forms.get(coding);
  if (form === undefined) {
    form = codecs[coding].whole(body);
    forms.set(coding, form);
  }
  return form;
}
