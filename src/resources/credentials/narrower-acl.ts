/** Without a rule of a kind, everything of that kind is allowed. */
const KINDS = ['bind:', 'configure:'] as const;

/** Whether agents may do less by this list than by the previous one, and nothing more. By text: a pattern counts as itself. */
export function isNarrowerAcl(acl: readonly string[], previous: readonly string[]): boolean {
  const isWithin = (kind: string): boolean => {
    const allowed = rulesOf(acl, kind);
    const before = rulesOf(previous, kind);
    return before.length === 0 || (allowed.length > 0 && allowed.every((rule) => before.includes(rule)));
  };
  return KINDS.every(isWithin) && [...acl].sort().join('\n') !== [...previous].sort().join('\n');
}

function rulesOf(acl: readonly string[], kind: string): readonly string[] {
  return acl.filter((rule) => rule.startsWith(kind));
}
