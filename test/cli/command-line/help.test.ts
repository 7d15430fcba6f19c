import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flagsOf } from '../../../src/app/cli/command.ts';
import { flagGroups } from '../../../src/app/cli/command-help.ts';
import { COMMANDS } from '../../../src/app/main/commands/command-list.ts';
import { runCommand } from '../run-command.ts';

const syntaxes = await Promise.all(
  COMMANDS.map(async (command) => ({ name: command.name, syntax: (await command.load()).syntax })),
);

/** Every command with each of its subcommands. */
const forms = syntaxes.flatMap(({ name, syntax }) => [
  { words: [name], syntax, subcommand: null },
  ...(syntax.subcommands ?? []).map((subcommand) => ({ words: [name, subcommand.name], syntax, subcommand })),
]);

test('the list of commands and their syntax have the same names', () => {
  for (const { name, syntax } of syntaxes) assert.equal(syntax.name, name);
});

test('postern help COMMAND and postern COMMAND --help agree', async () => {
  for (const words of [...forms.map((form) => form.words), ['api', 'routes'], ['api', 'routes', 'list']]) {
    const help = await runCommand(['help', ...words]);
    assert.deepEqual([help.code, help.stderr], [0, ''], words.join(' '));
    assert.deepEqual(await runCommand([...words, '--help']), help);
    assert.deepEqual(await runCommand([...words, '-h']), help);
    assert.match(help.stdout, new RegExp(`^Usage: postern ${words[0]}\\b`));
  }
  assert.equal((await runCommand(['help', 'evnts'])).code, 2);
  assert.match((await runCommand(['help', 'evnts'])).stderr, /Did you mean "events"/);
  for (const far of ['parts', 'users-of-it', 'test'])
    assert.doesNotMatch((await runCommand([far])).stderr, /Did you mean/);
  const resource = await runCommand(['api-keys', 'create', '--scopes', 'foo']);
  assert.deepEqual(resource, {
    code: 2,
    stdout: '',
    stderr: 'postern: api-keys is a resource of the API: postern api api-keys --help\n',
  });
  assert.deepEqual(await runCommand(['help']), await runCommand(['--help']));
});

test('the help of a command lists its flags, those of its subcommands and the exit codes', async () => {
  for (const { words, syntax, subcommand } of forms) {
    if (syntax.name === 'api') continue;
    const { stdout } = await runCommand([...words, '--help']);
    for (const { flags, summary } of flagGroups(syntax, subcommand)) {
      if (summary !== undefined) assert.ok(stdout.replaceAll('\n', ' ').includes(summary), words.join(' '));
      else for (const { name } of flags) assert.match(stdout, new RegExp(`^ {2}.*--(no-)?${name}\\b`, 'm'));
    }
    for (const [code, meaning] of Object.entries(syntax.exitCodes)) {
      assert.ok(stdout.replaceAll(/\s+/g, ' ').includes(`${code} ${meaning}`), `${words.join(' ')} ${code}`);
    }
    assert.ok(2 in syntax.exitCodes, words.join(' '));
  }
});

test('no command has two flags of one name, or a flag without a description', () => {
  for (const { words, syntax, subcommand } of forms) {
    const flags = flagsOf(syntax, subcommand);
    const names = flags.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
    assert.deepEqual(
      names.filter((name, at) => names.indexOf(name) !== at),
      [],
      words.join(' '),
    );
    for (const { name, description } of flags) assert.match(description, /^[A-Z].*\.$/, `${words.join(' ')} --${name}`);
  }
});

test('an unknown flag is rejected with the nearest flag and the command that lists them', async () => {
  for (const { words, syntax, subcommand } of forms) {
    if (['api', 'nodes', 'alerts'].includes(syntax.name)) continue;
    if (subcommand === null && syntax.subcommands !== undefined) continue;
    const [flag] = flagsOf(syntax, subcommand);
    const misspelled = `--${flag?.name ?? 'verbos'}x`;
    const { code, stdout, stderr } = await runCommand([...words, misspelled]);
    assert.deepEqual([code, stdout], [2, '']);
    const near = flag === undefined ? '' : ` Did you mean "--${flag.name}"`;
    assert.ok(stderr.startsWith(`postern: unknown flag ${misspelled}.${near}`), stderr);
    assert.ok(stderr.includes(`postern ${words.join(' ')} --help lists the flags`), stderr);
  }
  const { stderr } = await runCommand(['api', 'routes', 'list', '--limt', '1']);
  assert.match(stderr, /Did you mean "--limit"\? postern api https-edge-routes list --help lists the flags/);
});

test('every switch can be turned off, and takes no other value', async () => {
  for (const { words, syntax, subcommand } of forms) {
    if (subcommand === null && syntax.subcommands !== undefined) continue;
    for (const { name, kind } of flagsOf(syntax, subcommand).slice(0, 20)) {
      if (kind !== 'switch' || ['api', 'nodes', 'alerts'].includes(syntax.name)) continue;
      const off = await runCommand([...words, `--no-${name}`, '--no-such-flag']);
      assert.match(off.stderr, /unknown flag --no-such-flag\./);
      for (const given of [[`--${name}=perhaps`], [`--${name}`, 'maybe'], [`--${name}`, 'false']]) {
        const { code, stderr } = await runCommand([...words, ...given]);
        const expected = `postern: --${name} is on or off and takes no value: use --${name} or --no-${name}\n`;
        assert.deepEqual([code, stderr], [2, expected]);
      }
    }
  }
});

test('a flag of another subcommand is rejected with its owner', async () => {
  const { code, stderr } = await runCommand(['events', 'replay', '--count', '1']);
  assert.equal(code, 2);
  assert.match(stderr, /--count cannot be used with postern events replay, only with postern events tail/);
});

test('a missing subcommand is answered with the list of them', async () => {
  const { code, stderr } = await runCommand(['store']);
  assert.equal(code, 2);
  assert.equal(
    stderr,
    'postern store needs a subcommand: backup, restore, rotate-key, create-key. See postern store --help\n',
  );
});

test('list is the subcommand that runs without a name', async () => {
  for (const command of ['changes', 'requests']) {
    assert.deepEqual(await runCommand([command, 'list', '--limit=x']), await runCommand([command, '--limit=x']));
  }
  for (const command of ['users', 'agents']) {
    assert.deepEqual(await runCommand([command, 'list', '--output=x']), await runCommand([command, '--output=x']));
  }
});

test('the usage line has [FLAGS] only where there are flags', async () => {
  assert.match((await runCommand(['help', 'completion'])).stdout, /^Usage: postern completion bash\|zsh\|fish\n/);
  assert.match((await runCommand(['help', 'status'])).stdout, /^Usage: postern status \[FLAGS\]\n/);
  assert.match((await runCommand(['help', 'store', 'backup'])).stdout, /^Usage: postern store backup FILE \[FLAGS\]\n/);
});

test('help breaks at words at 60 columns, and not in a pipe', async () => {
  for (const args of [['--help'], ['up', '--help'], ['users', '--help'], ['api', 'https-edges', 'create', '--help']]) {
    const { stdout } = await runCommand(args, { columns: 60 });
    const tooLong = stdout.split('\n').filter((line) => line.length > 60 && / \S+ /.test(line.slice(20)));
    const texts = tooLong.filter((line) => !/^(?:Usage:| {7}postern| {2}(?:sudo )?postern| {2}-| {30})/.test(line));
    assert.deepEqual(texts, [], args.join(' '));
    const piped = await runCommand(args);
    assert.ok(
      piped.stdout.split('\n').some((line) => line.length > 60),
      'a pipe has the usual width',
    );
  }
});

test('every flag with a value has a word for it in the help', () => {
  for (const { words, syntax, subcommand } of forms) {
    for (const { name, kind, hint } of flagsOf(syntax, subcommand))
      assert.equal(kind !== 'switch', hint !== '', `${words.join(' ')} --${name}`);
  }
});

const LONGEST_HELP = 160;

test('no help is longer than seven screens, and --all describes what it only names', async () => {
  for (const { words, syntax, subcommand } of forms) {
    const short = await runCommand([...words, '--help']);
    assert.ok(short.stdout.split('\n').length < LONGEST_HELP, words.join(' '));
    const groups = flagGroups(syntax, subcommand).filter(({ isBrief }) => isBrief === true);
    if (groups.length === 0) continue;
    assert.match(short.stdout, new RegExp(`Run postern ${words[0]} --help --all for the descriptions of all flags`));
    const whole = (await runCommand([...words, '--help', '--all'])).stdout;
    assert.deepEqual((await runCommand(['help', ...words, '--all'])).stdout, whole);
    const plain = whole.replaceAll(/\s+/g, ' ');
    for (const { name, description } of groups.flatMap(({ flags }) => flags))
      assert.ok(plain.includes(description.replaceAll(/\s+/g, ' ')), `${words.join(' ')} --${name}`);
  }
});

test('the help of an operation shows many objects with the same fields once, and --all each of them', async () => {
  const short = (await runCommand(['api', 'oauth', 'replace', '--help'])).stdout;
  assert.match(short, /--provider\.PROVIDER\.client-id TEXT/);
  assert.match(short, /PROVIDER below is one of\s+amazon, facebook/);
  assert.match(short, /--provider\.github\.teams/);
  assert.ok(!short.includes('--provider.gitlab.client-id'));
  assert.ok(short.split('\n').length < 90);
  const whole = (await runCommand(['api', 'oauth', 'replace', '--help', '--all'])).stdout;
  assert.match(whole, /--provider\.gitlab\.client-id TEXT/);
  assert.match(whole, /--api-url URL/);
});
