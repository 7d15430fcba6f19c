import { usage } from '../../lib/flags.ts';

const FLAG = '--claim';

/** Takes `--claim NAME=VALUE` out of the arguments; a name that is given several times has several values. */
export function takeClaims(args: readonly string[]): {
  readonly claims: Readonly<Record<string, readonly string[]>>;
  readonly others: readonly string[];
} {
  const claims = new Map<string, string[]>();
  const others: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string;
    if (arg !== FLAG && !arg.startsWith(`${FLAG}=`)) {
      others.push(arg);
      continue;
    }
    if (arg === FLAG) at += 1;
    const written = arg === FLAG ? (args[at] ?? '') : arg.slice(FLAG.length + 1);
    // A name may be a URL with a query: the value is what follows the last sign.
    const sign = written.lastIndexOf('=');
    if (sign < 1) throw usage('--claim requires a name and a value: --claim groups=ops');
    const name = written.slice(0, sign);
    claims.set(name, [...(claims.get(name) ?? []), written.slice(sign + 1)]);
  }
  return { claims: Object.fromEntries(claims), others };
}
