/** A system call as strace shows it; `enteredAt` and `leftAt` are positions in the tracer's order. */
export interface Syscall {
  readonly thread: string;
  readonly name: string;
  /** Arguments and result, as text. */
  readonly text: string;
  readonly enteredAt: number;
  readonly leftAt: number;
}

const WHOLE = /^(\d+) +(?:[\d:.]+ +)?(\w+)\((.*)$/;
const RESUMED = /^(\d+) +(?:[\d:.]+ +)?<\.\.\. (\w+) resumed>(.*)$/;
const UNFINISHED = ' <unfinished ...>';

/**
 * Parses the output of `strace -f -y`. A call interrupted by another thread's output appears in two halves. The order
 * of the halves is the order of the stops, and a thread continues only after its stop was shown: so if one call's end
 * caused another's start, they appear in that order.
 */
export function parseTrace(text: string): Syscall[] {
  const calls: Syscall[] = [];
  const unfinished = new Map<string, { readonly name: string; readonly text: string; readonly enteredAt: number }>();
  for (const [at, line] of text.split('\n').entries()) {
    const resumed = RESUMED.exec(line);
    if (resumed !== null) {
      const [, thread = '', name = '', rest = ''] = resumed;
      const begun = unfinished.get(thread);
      unfinished.delete(thread);
      // The tracer attached in the middle of it.
      calls.push({ thread, name, text: (begun?.text ?? '') + rest, enteredAt: begun?.enteredAt ?? -1, leftAt: at });
      continue;
    }
    const [, thread, name = '', rest = ''] = WHOLE.exec(line) ?? [];
    if (thread === undefined) continue;
    if (rest.endsWith(UNFINISHED)) {
      unfinished.set(thread, { name, text: rest.slice(0, -UNFINISHED.length), enteredAt: at });
    } else calls.push({ thread, name, text: rest, enteredAt: at, leftAt: at });
  }
  for (const [thread, begun] of unfinished) calls.push({ thread, ...begun, leftAt: Number.POSITIVE_INFINITY });
  return calls.sort((one, other) => one.enteredAt - other.enteredAt);
}
