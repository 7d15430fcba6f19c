/** Content codings that we make, in the order in which they are taken when a client likes several equally. */
export const CODINGS = ['zstd', 'br', 'gzip', 'deflate'] as const;

export type Coding = (typeof CODINGS)[number];

/** RFC 9110 §12.4.2: at most three decimals. */
const WEIGHT = /^q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/i;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/**
 * Which coding a client gets (RFC 9110 §12.5.3), null for none.
 *
 * Where the RFC leaves room, the answer is the one that every client understands, no coding:
 * - No Accept-Encoding at all would allow any; who sends none rarely can decode one.
 * - A coding whose weight cannot be read, or that carries another parameter, counts as refused: were it taken as absent,
 *   a `*` beside it would allow it. A member without a readable name is ignored.
 * - A coding named twice has the lower of its weights: one refusal is enough.
 * - `identity`, where named, must not weigh more than the coding. That it is refused is not our business: a response
 *   that we do not compress goes out as the upstream made it.
 */
export function chooseCoding(acceptEncoding: string | undefined): Coding | null {
  if (acceptEncoding === undefined) return null;
  const weights = readWeights(acceptEncoding);
  const others = weights.get('*') ?? 0;
  let chosen: Coding | null = null;
  // A coding that weighs nothing is refused, so the first to be taken has to weigh more than that.
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
    // RFC 9110 §8.4.1.3: a recipient takes "x-gzip" for "gzip".
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
 * Optional whitespace of HTTP: space and tab, nothing else of what `trim` takes. By index: `/[ \t]+$/` takes quadratic time, 1.1 s for
 * a header of 32 KB.
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
