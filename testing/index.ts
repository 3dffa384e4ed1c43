/** Entry of `holdfast/testing`: agents under test, and a vendor emulator with real failures, without keys. */
export type { EmulatorOptions } from './emulator/emulator';
export { VendorEmulator } from './emulator/emulator';
export type { Prompt, RecordedRequest } from './emulator/recorded-request';
export type {
  FaultStep,
  ReplyOptions,
  ReplyStep,
  Step,
  StreamFaultOptions,
  ToolFaultStep,
  VendorError,
} from './emulator/script';
export { fault, reply } from './emulator/script';
export type { ScriptRule } from './emulator/script-queue';
export type { PersonStep } from './agent/person';
export { person } from './agent/person';
export type { TestAgent, TestAgentOptions, TestRun } from './agent/test-agent';
export type { TestStep } from './agent/test-script';
export { testAgent } from './test-agent';
