import { usage } from '../../lib/flags.ts';

const FLAG = '--header';

/** Takes `--header "name: value"` out of the arguments; a name that is given several times has several values. */
export function takeHeaders(args: readonly string[]): {
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly others: readonly string[];
} {
  const headers = new Map<string, string[]>();
  const others: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string;
    if (arg !== FLAG && !arg.startsWith(`${FLAG}=`)) {
      others.push(arg);
      continue;
    }
    if (arg === FLAG) at += 1;
    const written = arg === FLAG ? (args[at] ?? '') : arg.slice(FLAG.length + 1);
    const colon = written.indexOf(':');
    if (colon < 1) throw usage('--header requires a name and a value: --header "accept: text/html"');
    const name = written.slice(0, colon).trim();
    headers.set(name, [...(headers.get(name) ?? []), written.slice(colon + 1).trim()]);
  }
  return { headers: Object.fromEntries(headers), others };
}
