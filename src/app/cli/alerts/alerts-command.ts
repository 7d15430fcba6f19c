import { apiResources, findOperation, findResource } from '../api/api-resources.ts';
import { COMMON_GROUPS, flagsOfOperation } from '../api/operation-flags.ts';
import { operationList } from '../api/operation-list.ts';
import { API_EXIT_CODES, type Command, type CommandSyntax } from '../command.ts';

const ABOUT =
  'Lists what is wrong now: agents that are away, failing backends, open circuits, certificates that expire or fail, stuck deliveries, disks that are nearly full, too few file descriptors, lost nodes. Short for "postern api alerts".';

/** A short form of two API commands. */
export function createAlertsCommand(api: Command): Command {
  return {
    get syntax() {
      return syntax();
    },
    run: (args, context) => {
      const [word = ''] = args;
      return api.run(['alerts', ...(word === 'list' || word === 'dismiss' ? [] : ['list']), ...args], context);
    },
  };
}

function syntax(): CommandSyntax {
  const resource = findResource(apiResources(operationList()), 'alerts');
  return {
    name: 'alerts',
    about: ABOUT,
    subcommands: [
      {
        name: 'list',
        isDefault: true,
        about: 'list the alerts',
        flags: flagsOfOperation(findOperation(resource, 'list')),
      },
      {
        name: 'dismiss',
        operands: 'ID',
        completedBy: ['alert'],
        about: 'take an alert out of the list of problems: it ends with its cause, and comes back if the cause does',
        flags: flagsOfOperation(findOperation(resource, 'dismiss')),
      },
    ],
    groups: COMMON_GROUPS,
    exitCodes: API_EXIT_CODES,
  };
}
