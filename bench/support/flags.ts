/** Command line flags: `--quick`, `--name=value`, `--name=a,b`, and bare words. */
export const isQuick = process.argv.includes('--quick');
export const words: readonly string[] = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));

export function flag(name: string): string | null {
  const found = process.argv.find((arg) => arg.startsWith(`--${name}=`));
  return found === undefined ? null : found.slice(name.length + 3);
}

export function listFlag(name: string): readonly string[] | null {
  return flag(name)?.split(',') ?? null;
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
