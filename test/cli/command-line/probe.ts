import { runCommand } from '../run-command.ts';

/** Flags whose values are checked while they are read. */
const VALUES: Readonly<Record<string, string>> = {
  claim: 'a=b',
  header: 'a: b',
  'allow-email-domain': 'b.example',
};
/** No command has it: a command line that ends with it is read completely, and then nothing runs. */
const STOP = '--no-such-flag-at-all';

/**
 * The forms of a flag that a command accepts: `--name VALUE` or `--name`, with an ellipsis if it may be repeated; null
 * if the command does not know it.
 */
export async function acceptedForm(command: string, dashed: string): Promise<string | null> {
  const name = dashed.replace(/^--?/, '');
  const value = VALUES[name] ?? 'v';
  const accepts = async (...args: readonly string[]): Promise<boolean> => {
    const { code, stderr } = await runCommand([...command.split(' '), ...args, STOP]);
    return code === 2 && stderr.includes(`unknown flag ${STOP}`);
  };
  if (await accepts(dashed)) {
    const isWhole =
      !dashed.startsWith('--') || ((await accepts(`${dashed}=true`)) && (await accepts(`${dashed}=false`)));
    return isWhole || dashed.startsWith('--no-') ? dashed : `${dashed} (without =)`;
  }
  if (!(await accepts(dashed, value))) return null;
  if (dashed.startsWith('--') && !(await accepts(`${dashed}=${value}`))) return `${dashed} VALUE (without =)`;
  return (await accepts(dashed, value, dashed, value)) ? `${dashed} VALUE...` : `${dashed} VALUE`;
}
