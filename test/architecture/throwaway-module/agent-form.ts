import type { AgentForm } from '../../../src/modules/contract/agent-form.ts';

export const throwawayAgentForm: AgentForm = {
  order: 5,
  key: 'throwaway',
  shape: 'map',
  protocols: ['https'],
  tlsReason: 'greetings are private',
  unsupportedReason: 'greetings are headers',
  fields: [
    {
      name: 'greeting',
      example: 'hello',
      isNeeded: true,
      flag: { name: 'throwaway-greeting', hint: 'TEXT', description: 'Greeting for the local service.' },
    },
  ],
  helpExample: '--throwaway-greeting hello',
  whenEmpty: 'a greeting is needed',
  summary: ['greeting {greeting}'],
};
