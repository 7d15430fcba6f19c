import { queryString } from '../../../client/fill-path.ts';
import { usage } from '../../../kit/flags.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { API_EXIT_CODES, type Command, type CommandSyntax, parseCommand } from '../command.ts';
import { printable } from '../output/cell-text.ts';
import { outputFlag, outputFormat, printJson, printStructured } from '../output/output-format.ts';
import { printTable } from '../output/table.ts';
import { CONNECTION, textFlag } from '../shared-flags.ts';

const SYNTAX: CommandSyntax = {
  name: 'search',
  usage: ['TEXT'],
  hasOperands: true,
  about:
    'Finds edges, routes, backends and other configuration by host name, path, name, description, metadata or id. Every word of the text must occur, in any case. The best matches come first. Secrets are not searched.',
  flags: [textFlag('limit', 'NUMBER', 'Number of results, 1 to 100.', { default: '20' }), outputFlag()],
  groups: [CONNECTION],
  examples: ['postern search app.example.com'],
  exitCodes: { ...API_EXIT_CODES, 0: 'found', 1: 'nothing found, or rejected by the API' },
};

const EXIT_NOTHING = 1;

interface Answer {
  readonly results: readonly {
    readonly kind: string;
    readonly id: string;
    readonly title: string;
    readonly matched: string;
  }[];
  readonly has_more: boolean;
}

/** Finds configuration by text. */
export const searchCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const text = parsed.positionals.join(' ').trim();
    if (text === '') throw usage('postern search takes the text to look for: postern search app.example.com');
    const format = outputFormat(parsed.flags);
    const limit = parsed.flags.get('limit');
    return runWithApi(context, async () => {
      const transport = await openTransport(parsed, context);
      const path = `/search${queryString({ q: text, ...(limit !== undefined && { limit }) })}`;
      const answer = await transport.send({ method: 'GET', path });
      const { results, has_more: hasMore } = JSON.parse(answer.text) as Answer;
      if (format === 'json') printJson(answer.text, context);
      else if (format === 'yaml') printStructured(JSON.parse(answer.text), 'yaml', context);
      else if (format === 'id') for (const { id } of results) context.print(id);
      else if (results.length === 0) context.warn('postern: nothing found');
      else printTable(results.map(rowOf), context);
      if (hasMore) context.warn('postern: there are more matches: use a longer text, or --limit');
      return results.length === 0 ? EXIT_NOTHING : 0;
    });
  },
};

function rowOf({ kind, id, title, matched }: Answer['results'][number]) {
  return { kind, title: printable(title), id, matched };
}
