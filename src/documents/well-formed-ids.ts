import { resourceErrors } from '../resources/errors.ts';

const ID_PATTERN = /^[a-z]+_[0-9A-Za-z]{27}$/;

/**
 * A malformed id, or one with another resource's prefix, matches nothing: 404, without sending odd bytes to a database.
 */
export function checkIds(params: Readonly<Record<string, string>>): void {
  for (const name in params) {
    if (name === 'type' || name === 'revision') continue;
    const value = params[name] as string;
    if (!ID_PATTERN.test(value)) {
      throw resourceErrors.create(
        'ERR_POSTERN_NOT_FOUND',
        `"${value.slice(0, 64)}" is not an id: an id is a prefix, "_" and 27 letters and digits`,
      );
    }
  }
}
