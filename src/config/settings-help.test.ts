import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { flagOf, settingNames } from './schema.ts';
import { settingsHelp } from './settings-help.ts';

suite('settingsHelp', () => {
  const help = settingsHelp(80);

  test('lists every setting, in lines of at most the given width', () => {
    const flags = Array.from(help.matchAll(/^ {2}--(\S+)$/gm), ([, flag]) => flag);
    assert.deepEqual(flags, settingNames.map(flagOf));
    assert.deepEqual(
      help.split('\n').filter((line) => line.length > 80),
      [],
    );
  });

  test('ends a description with the default, written as for a flag', () => {
    const oneLine = help.replaceAll(/\s+/g, ' ');
    assert.match(oneLine, /--edge-listen Listen address .+? Default: 127\.0\.0\.1:7443\. --edge-http-listen /);
    assert.match(oneLine, /--roles Roles [^-]+ Default: api,edge,gateway,events\. --/);
    assert.match(oneLine, /--access-log [^-]+ Default: true\. --/);
    assert.match(oneLine, /--trusted-proxies .+? Default: empty\. --ambiguous-paths /);
  });

  test('shows no default for a setting that is unset, nor a list that fills lines', () => {
    const textOf = (flag: string): string => help.split(/^ {2}--/m).find((part) => part.startsWith(`${flag}\n`)) ?? '';
    assert.match(textOf('database-url'), /Unset: SQLite/);
    assert.doesNotMatch(textOf('database-url'), /Default/);
    assert.match(textOf('drop-request-headers').replaceAll(/\s+/g, ' '), /Default: see --print-config\.\s*$/);
  });
});
