/** Supported content codings, in order of preference when a client accepts several equally. */
export const CODINGS = ['zstd', 'br', 'gzip', 'deflate'] as const;

export type Coding = (typeof CODINGS)[number];

/** RFC 9110 §12.4.2: at most three decimals. */
const WEIGHT = /^q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/i;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/**
 * The coding for a client (RFC 9110 §12.5.3), null for none.
 *
 * Where the RFC leaves room, the result is what every client understands, no coding:
 * - A missing Accept-Encoding would allow any; a client that sends none can rarely decode one.
 * - A coding with an unreadable weight, or with another parameter, counts as refused: treated as absent, a `*` beside
 *   it would allow it. A member without a readable name is ignored.
 * - A repeated coding has the lower of its weights: one refusal is enough.
 * - `identity`, where named, must not weigh more than the coding. Whether it is refused does not matter: an
 *   uncompressed response is sent as the upstream made it.
 */
export function chooseCoding(acceptEncoding: string | undefined): Coding | null {
  if (acceptEncoding === undefined) return null;
  const weights = readWeights(acceptEncoding);
  const others = weights.get('*') ?? 0;
  let chosen: Coding | null = null;
  // A coding with weight 0 is refused, so the first choice needs a higher weight.
  let best = 0;
  for (const coding of CODINGS) {
    const weight = weights.get(coding) ?? others;
    if (weight > best) {
      best = weight;
      chosen = coding;
    }
  }
  return (weights.get('identity') ?? 0) > best ? null : chosen;
}

function readWeights(acceptEncoding: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const member of acceptEncoding.toLowerCase().split(',')) {
    const [head = '', ...parameters] = member.split(';');
    const named = trimmed(head);
    if (!TOKEN.test(named)) continue;
    // RFC 9110 §8.4.1.3: a recipient treats "x-gzip" as "gzip".
    const name = named === 'x-gzip' ? 'gzip' : named;
    weights.set(name, Math.min(weights.get(name) ?? 1, weightOf(parameters)));
  }
  return weights;
}

function weightOf(parameters: readonly string[]): number {
  if (parameters.length === 0) return 1;
  const weight = parameters.length === 1 ? WEIGHT.exec(trimmed(parameters[0] ?? '')) : null;
  return weight === null ? 0 : Number(weight[1]);
}

/**
 * HTTP's optional whitespace: space and tab, not the rest of what `trim` removes. By index: `/[ \t]+$/` takes quadratic
 * time, 1.1 s for a header of 32 KB.
 */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text, start)) start += 1;
  while (end > start && isBlank(text, end - 1)) end -= 1;
  return text.slice(start, end);
}

function isBlank(text: string, at: number): boolean {
  return text[at] === ' ' || text[at] === '\t';
}
