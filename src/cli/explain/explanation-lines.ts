import type { Ref } from '../../lib/schema/annotations.ts';
import { cellText, printable } from '../api/cell-text.ts';

export interface ShownExplanation {
  readonly edge: Ref | null;
  readonly route: Ref | null;
  readonly candidates: readonly { readonly route: Ref; readonly why_not: string }[];
  readonly decisions: readonly {
    readonly module: string;
    readonly decision: string;
    readonly reason: string;
    readonly rule?: string;
    readonly text: string;
  }[];
  readonly outcome: {
    readonly status?: number;
    readonly error_code?: string;
    readonly location?: string;
    readonly targets: readonly {
      readonly name: string;
      readonly kind: string;
      readonly node?: string;
      readonly forwards_to?: string;
    }[];
  };
  readonly upstream_request: {
    readonly headers_added: Readonly<Record<string, string>>;
    readonly headers_removed: readonly string[];
    readonly target?: string;
  } | null;
}

const MARKS: Readonly<Record<string, string>> = { pass: '✓', refuse: '✗', answer: '→', skipped: '-' };

/** A tree that a person reads from top to bottom, as the request would go. */
export function explanationLines(explained: ShownExplanation): readonly string[] {
  const { edge, route, candidates, decisions, upstream_request: sent } = explained;
  return [
    `edge   ${edge === null ? 'none' : printable(edge.id)}`,
    `route  ${route === null ? 'none' : printable(route.id)}`,
    ...candidates.map((each) => `  not ${printable(each.route.id)}: ${printable(each.why_not)}`),
    'decisions',
    ...decisions.map(({ module, decision, reason, rule, text }) => {
      const by = rule === undefined ? '' : ` [${printable(rule)}]`;
      return `  ${MARKS[decision] ?? '?'} ${printable(module)}: ${printable(reason)}${by} – ${printable(text)}`;
    }),
    `outcome  ${outcomeText(explained)}`,
    ...explained.outcome.targets.map(({ name, kind, node, forwards_to: to }) => {
      const where = `${node === undefined ? '' : ` on node ${printable(node)}`}`;
      return `  → ${kind} ${printable(name)}${to === undefined ? '' : ` to ${printable(to)}`}${where}`;
    }),
    ...(sent === null ? [] : upstreamLines(sent)),
  ];
}

function outcomeText({ outcome, decisions }: ShownExplanation): string {
  const { status, error_code: code, location, targets } = outcome;
  if (status !== undefined && location !== undefined) return `${status} to ${printable(location)}`;
  if (status !== undefined) return code === undefined ? String(status) : `${status} ${printable(code)}`;
  if (targets.length > 0) return targets.length === 1 ? 'forwarded to' : 'forwarded to one of';
  return decisions.at(-1)?.decision === 'pass' ? 'served by the edge itself' : 'no response';
}

function upstreamLines({
  headers_added: added,
  headers_removed: removed,
  target,
}: NonNullable<ShownExplanation['upstream_request']>): readonly string[] {
  return [
    'the upstream gets',
    ...(target === undefined ? [] : [`  path ${printable(target)}`]),
    ...Object.entries(added).map(([name, value]) => `  + ${printable(name)}: ${cellText(value)}`),
    ...removed.map((name) => `  - ${printable(name)}`),
  ];
}
