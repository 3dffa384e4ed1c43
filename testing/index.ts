/** Entry of `holdfast/testing`: a vendor emulator for tests without keys, with real failures. */
export type { ModelRequest } from '../activities/providers/provider';
export type { EmulatorOptions } from './emulator/emulator';
export { VendorEmulator } from './emulator/emulator';
export type { RecordedRequest } from './emulator/recorded-request';
export type {
  FaultStep,
  ReplyOptions,
  ReplyStep,
  Step,
  StreamFaultOptions,
  VendorError,
} from './emulator/script';
export { fault, reply } from './emulator/script';
export type { ScriptRule } from './emulator/script-queue';
export type { ScriptedProvider, ScriptedStep } from './scripted-provider';
export { scriptedProvider } from './scripted-provider';
