import { type ErrorCode, PosternError } from '../errors.ts';

/** An error on its way to another thread: structured cloning drops its class and own fields. */
export interface WireError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: ErrorCode | null;
  readonly status: number;
}

export type WireOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: WireError };

export function toWire(error: unknown): WireError {
  if (!(error instanceof Error))
    return { name: 'Error', message: String(error), stack: undefined, code: null, status: 500 };
  const { name, message, stack } = error;
  return error instanceof PosternError
    ? { name, message, stack, code: error.code, status: error.status }
    : { name, message, stack, code: null, status: 500 };
}

export function fromWire({ name, message, stack, code, status }: WireError): Error {
  const error = code === null ? new Error(message) : new PosternError(code, status, message);
  if (code === null) error.name = name;
  if (stack !== undefined) error.stack = stack;
  return error;
}
