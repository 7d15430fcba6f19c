interface Usage {
  /** Name of the npm script. */
  readonly script: string;
  readonly about: string;
  /** Benchmarks that can be named, each with what it measures. */
  readonly benches?: Readonly<Record<string, string>>;
  /** Further flags with their descriptions. */
  readonly flags?: Readonly<Record<string, string>>;
}

/** Prints the usage and ends the process if `--help` is given. */
export function helpIfRequested(usage: Usage): void {
  if (!process.argv.includes('--help') && !process.argv.includes('-h')) return;
  const { script, about, benches = {} } = usage;
  const flags = { '--quick': 'few and short rounds, to check that it works', ...usage.flags };
  const names = Object.keys(benches).length === 0 ? '' : ' [NAME…]';
  const sections = [`Usage: npm run ${script} --${names} [FLAGS]`, about];
  if (names !== '') sections.push(`Runs the named benchmarks, or all of them:\n${table(benches)}`);
  process.stdout.write(`${[...sections, table(flags)].join('\n\n')}\n`);
  process.exit(0);
}

function table(rows: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(rows).map((name) => name.length)) + 2;
  return Object.entries(rows)
    .map(([name, text]) => `  ${name.padEnd(width)}${text}`)
    .join('\n');
}
