/**
 * Paths below it belong to modules. In any case of letters, escaped, and behind other segments: a mistyped link has its
 * secret, too.
 */
const OWN_PATH = /(?:[/\\]|%2f|%5c)(?:\.|%2e)postern(?:[/\\;]|%2f|%5c|$)/i;

export function isOwnPathText(text: string): boolean {
  return OWN_PATH.test(text);
}
