/** What other servers accept in one header, and more than any of them needs. */
const MAX_SENT_LENGTH = 8_192;

/** Control characters would end the header, and a byte cannot hold others. */
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether a header with this value arrives as it was meant: readers trim spaces. */
export function isSendable(value: string): boolean {
  return value.length <= MAX_SENT_LENGTH && SENDABLE.test(value) && value === value.trim();
}
