import { DoubledNameError } from '../json-shape.ts';

/** An array or object whose end was not scanned yet. */
export class OpenContainer {
  readonly start: number;
  readonly isArray: boolean;
  /** Its first part was parsed: it will be put together from parts. */
  isDivided = false;
  /** It waits for the value of a divided container inside it. */
  isHolding = false;
  /** That value was the last thing in it: a comma or its end must follow. */
  isAfterHeld = false;
  /** Everything before it was parsed. */
  partStart: number;
  lastComma: number;
  commas = 0;
  readonly value: unknown[] | Record<string, unknown>;
  #heldKey = '';

  constructor(start: number, isArray: boolean) {
    this.start = start;
    this.isArray = isArray;
    this.partStart = start + 1;
    this.lastComma = start;
    this.value = isArray ? [] : {};
  }

  append(part: unknown): void {
    if (Array.isArray(this.value)) for (const each of part as unknown[]) this.value.push(each);
    else {
      for (const name of Object.keys(part as object)) this.#refuseDoubled(name);
      Object.assign(this.value, part);
    }
  }

  startPart(at: number): void {
    this.partStart = at;
    this.isAfterHeld = false;
  }

  hold(key: string): void {
    this.isHolding = true;
    this.#heldKey = key;
  }

  attachHeld(value: unknown, end: number): void {
    if (Array.isArray(this.value)) this.value.push(value);
    else {
      // As the API's parser rejects them inside a part: they must not reach an object.
      if (
        this.#heldKey === '__proto__' ||
        (this.#heldKey === 'constructor' && Object.hasOwn(value as object, 'prototype'))
      )
        throw new SyntaxError('a name is not allowed');
      this.#refuseDoubled(this.#heldKey);
      this.value[this.#heldKey] = value;
    }
    this.isHolding = false;
    this.isAfterHeld = true;
    this.partStart = end;
    this.lastComma = end - 1;
  }

  /** Parts of one object are parsed apart. */
  #refuseDoubled(name: string): void {
    if (Object.hasOwn(this.value, name)) throw new DoubledNameError(name);
  }
}
