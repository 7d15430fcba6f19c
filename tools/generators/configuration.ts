import { stringify } from 'yaml';
import { DEFAULTS_FILE } from '../../src/config/load.ts';
import { type FileEntry, readConfigText } from '../../src/config/read-file.ts';
import { flagOf, settingNames, settingOf, variableOf } from '../../src/config/schema.ts';
import { readProgramFile } from '../../src/lib/program-files.ts';
import type { DeclaredSetting } from '../../src/lib/settings/setting.ts';
import { wrapText } from '../../src/lib/text/wrap-text.ts';

const DEFAULTS_PATH = 'src/config/defaults.yaml';
const REFERENCE_PATH = 'docs/reference/configuration.md';
const COMMENT_WIDTH = 110;

export const name = 'configuration';

/**
 * Values come from the defaults file or, for a module's setting, from its row; texts come from the rows: each is
 * written once.
 */
export async function generate(): Promise<Map<string, string>> {
  const defaults = readConfigText(readProgramFile(DEFAULTS_FILE), DEFAULTS_PATH);
  return new Map([
    [DEFAULTS_PATH, defaultsFile(defaults)],
    [REFERENCE_PATH, referencePage(defaults)],
  ]);
}

function defaultsFile(defaults: Map<string, FileEntry>): string {
  const head = [
    '# Default values of all settings. The server reads this file. Do not edit it to configure a server:',
    '# copy the lines you need into your own file and start the server with --config FILE.',
    '# Precedence: flags, POSTERN_ variables, your file, this file. An empty value counts as unset.',
    '# "npm run generate" writes the comments from the settings in src/config and src/modules/*/settings.ts.',
  ];
  const blocks = settingNames.map((setting) => {
    const comment = wrapText(words(setting), COMMENT_WIDTH).map((line) => `# ${line}`);
    const text = defaultText(setting, defaults);
    const value = text.includes('\n') ? `\n${block(setting, defaults)}` : padded(text);
    return [...comment, `${setting}:${value}`].join('\n');
  });
  return `${[head.join('\n'), ...blocks].join('\n\n')}\n`;
}

function referencePage(defaults: Map<string, FileEntry>): string {
  const head = `# Configuration

<!-- Generated from src/config/ by "npm run generate". Do not edit. -->

Each setting can be a flag of \`postern server\`, an environment variable, or a line of a YAML file
(\`--config FILE\` or \`POSTERN_CONFIG\`). Flags take precedence over variables, variables over the file, the file over the defaults. An empty
value counts as unset. In flags and variables, separate the items of a list with commas. The server does not start with an unknown name or an invalid value.
\`postern server --print-config\` shows the effective values and where each came from, with secrets masked. Use variables or
the file for secrets: other users of the machine can read the flags of a process.
`;
  return [head, ...settingNames.map((setting) => section(setting, defaults))].join('\n');
}

function section(setting: string, defaults: Map<string, FileEntry>): string {
  // A list that takes several lines in the file takes one in a table.
  const value = defaultText(setting, defaults)
    .replaceAll(/,?\s*\n\s*(\]?)/g, (_break, end: string) => (end === '' ? ', ' : end))
    .replace(/^\[, /, '[');
  return `## \`${setting}\`

${words(setting)}

| | |
|---|---|
| default | ${value === '' ? 'unset' : `\`${value}\``} |
| allowed | ${settingOf(setting).kind.allowed} |
| variable | \`${variableOf(setting)}\` |
| flag | \`--${flagOf(setting)}\` |
`;
}

function words(setting: string): string {
  const { description, usedFrom, secrecy } = settingOf(setting);
  const notes = [description];
  if (secrecy === 'secret') notes.push('Secret: never logged or printed.');
  if (secrecy === 'password') notes.push('The password is secret: never logged or printed.');
  if (usedFrom !== null) notes.push(`Checked now, used from ${usedFrom}.`);
  return notes.join(' ');
}

/** A list that is too long for one line. */
function block(setting: string, defaults: Map<string, FileEntry>): string {
  return stringify(defaultOf(setting, defaults)).trim().replaceAll(/^/gm, '  ');
}

function defaultText(setting: string, defaults: Map<string, FileEntry>): string {
  const value = defaultOf(setting, defaults);
  return value === null || value === undefined
    ? ''
    : stringify(value, { collectionStyle: 'flow', flowCollectionPadding: false }).trim();
}

/** A module's setting declares its own. */
function defaultOf(setting: string, defaults: Map<string, FileEntry>): unknown {
  return (settingOf(setting) as Partial<DeclaredSetting<unknown>>).default ?? defaults.get(setting)?.value;
}

function padded(text: string): string {
  return text === '' ? '' : ` ${text}`;
}
