/* LLVM's C API has one list of passes for all code. Three of them do not pay in long kernels:
 *
 *   MachineCSE       looks at all uses of a value for each instruction that could share it, and a long kernel uses a constant
 *                    thousands of times: half the time of 10,000 statements. The IR has no common subexpressions left
 *   schedulers       order instructions again before and after registers are assigned; the machine does that itself */
#include "ssl/jit/long_code.h"
#include <llvm-c/Core.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#if LLVM_VERSION_MAJOR >= 18
static const auto object_file = llvm::CodeGenFileType::ObjectFile;
static const auto assembly_file = llvm::CodeGenFileType::AssemblyFile;
#else
static const auto object_file = llvm::CGFT_ObjectFile;
static const auto assembly_file = llvm::CGFT_AssemblyFile;
#endif

bool jit_emit_long_code(LLVMTargetMachineRef machine, LLVMModuleRef module,
                        LLVMCodeGenFileType type, LLVMMemoryBufferRef *out_buffer)
{
    /* All targets that LLVM generates code for by itself are of this class. */
    auto *target =
        static_cast<llvm::LLVMTargetMachine *>(reinterpret_cast<llvm::TargetMachine *>(machine));
    llvm::Module *code = llvm::unwrap(module);
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    code->setDataLayout(target->createDataLayout());
    auto *info = new llvm::MachineModuleInfoWrapperPass(target); /* the pass manager's, as all */
    llvm::TargetPassConfig *config = target->createPassConfig(passes);
    config->disablePass(&llvm::MachineCSEID);
    config->disablePass(&llvm::MachineSchedulerID);
    config->disablePass(&llvm::PostRASchedulerID);
    passes.add(config);
    passes.add(info);
    if (config->addISelPasses())
        return false;
    config->addMachinePasses();
    config->setInitialized();
    if (target->addAsmPrinter(passes, stream, nullptr,
                              type == LLVMObjectFile ? object_file : assembly_file,
                              info->getMMI().getContext()))
        return false;
    passes.add(llvm::createFreeMachineFunctionPass());
    passes.run(*code);
    *out_buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text.data(), text.size(), "kernel");
    return true;
}
